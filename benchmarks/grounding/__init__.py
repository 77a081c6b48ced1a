"""How often verdicts on answers are right: public sets, sets made by controlled corruption, published sets, speed."""
