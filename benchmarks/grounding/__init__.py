"""How well answers without support are found: public sets, sets made by controlled corruption, speed."""
