"""Language models behind one method. Everything provider-specific stays in its wire's file."""
