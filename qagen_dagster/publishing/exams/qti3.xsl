<?xml version="1.0"?>
<!-- QTI 2.1 to QTI 3.0: names in lower case with hyphens, a content body in feedback. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:q="http://www.imsglobal.org/xsd/imsqti_v2p1"
                xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="http://www.imsglobal.org/xsd/imsqtiasi_v3p0" exclude-result-prefixes="q">
  <xsl:variable name="upper">ABCDEFGHIJKLMNOPQRSTUVWXYZ</xsl:variable>
  <xsl:template name="hyphened">
    <xsl:param name="text"/>
    <xsl:if test="contains($upper, substring($text, 1, 1))">-</xsl:if>
    <xsl:value-of select="translate(substring($text, 1, 1), $upper, 'abcdefghijklmnopqrstuvwxyz')"/>
    <xsl:if test="substring($text, 2)">
      <xsl:call-template name="hyphened"><xsl:with-param name="text" select="substring($text, 2)"/></xsl:call-template>
    </xsl:if>
  </xsl:template>
  <xsl:template match="q:*">
    <xsl:variable name="name"><xsl:call-template name="hyphened"><xsl:with-param name="text" select="local-name()"/></xsl:call-template></xsl:variable>
    <xsl:element name="qti-{$name}"><xsl:apply-templates select="@*|node()"/></xsl:element>
  </xsl:template>
  <xsl:template match="q:p|q:br|q:code|q:img"><xsl:element name="{local-name()}"><xsl:apply-templates select="@*|node()"/></xsl:element></xsl:template>
  <xsl:template match="q:modalFeedback">
    <qti-modal-feedback><xsl:apply-templates select="@*"/><qti-content-body><xsl:apply-templates select="node()"/></qti-content-body></qti-modal-feedback>
  </xsl:template>
  <xsl:template match="@*">
    <xsl:variable name="name"><xsl:call-template name="hyphened"><xsl:with-param name="text" select="name()"/></xsl:call-template></xsl:variable>
    <xsl:attribute name="{$name}"><xsl:value-of select="."/></xsl:attribute>
  </xsl:template>
  <xsl:template match="@xsi:schemaLocation">
    <xsl:attribute name="xsi:schemaLocation">http://www.imsglobal.org/xsd/imsqtiasi_v3p0 https://purl.imsglobal.org/spec/qti/v3p0/schema/xsd/imsqti_asiv3p0_v1p0.xsd</xsl:attribute>
  </xsl:template>
  <xsl:template match="*"><xsl:copy-of select="."/></xsl:template>
</xsl:stylesheet>
