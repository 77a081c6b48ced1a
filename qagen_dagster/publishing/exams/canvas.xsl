<?xml version="1.0"?>
<!-- Items of QTI 2.1 to QTI 1.2 as Canvas imports it: a quiz of questions with one right option. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:q="http://www.imsglobal.org/xsd/imsqti_v2p1"
                xmlns="http://www.imsglobal.org/xsd/ims_qtiasiv1p2" exclude-result-prefixes="q">
  <xsl:template match="/bank">
    <questestinterop>
      <assessment ident="{@identifier}" title="{@title}"><section ident="root_section"><xsl:apply-templates select="q:assessmentItem"/></section></assessment>
    </questestinterop>
  </xsl:template>
  <xsl:template match="q:assessmentItem">
    <xsl:variable name="key" select="q:responseDeclaration/q:correctResponse/q:value"/>
    <item ident="{@identifier}" title="{@title}">
      <itemmetadata><qtimetadata>
        <qtimetadatafield><fieldlabel>question_type</fieldlabel><fieldentry>multiple_choice_question</fieldentry></qtimetadatafield>
        <qtimetadatafield><fieldlabel>points_possible</fieldlabel><fieldentry>1</fieldentry></qtimetadatafield>
      </qtimetadata></itemmetadata>
      <presentation>
        <material><mattext texttype="text/html"><xsl:copy-of select="q:itemBody/q:p"/></mattext></material>
        <response_lid ident="response1" rcardinality="Single"><render_choice>
          <xsl:for-each select=".//q:simpleChoice">
            <response_label ident="{@identifier}"><material><mattext texttype="text/html"><xsl:copy-of select="node()"/></mattext></material></response_label>
          </xsl:for-each>
        </render_choice></response_lid>
      </presentation>
      <resprocessing>
        <outcomes><decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/></outcomes>
        <xsl:for-each select="q:modalFeedback">
          <respcondition continue="Yes">
            <conditionvar><varequal respident="response1"><xsl:value-of select="@identifier"/></varequal></conditionvar>
            <displayfeedback feedbacktype="Response" linkrefid="{@identifier}_fb"/>
          </respcondition>
        </xsl:for-each>
        <respcondition continue="No">
          <conditionvar><varequal respident="response1"><xsl:value-of select="$key"/></varequal></conditionvar>
          <setvar action="Set" varname="SCORE">100</setvar>
        </respcondition>
      </resprocessing>
      <xsl:for-each select="q:modalFeedback">
        <itemfeedback ident="{@identifier}_fb"><flow_mat><material><mattext texttype="text/html"><xsl:copy-of select="node()"/></mattext></material></flow_mat></itemfeedback>
      </xsl:for-each>
    </item>
  </xsl:template>
</xsl:stylesheet>
