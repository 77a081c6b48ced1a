"""Language models behind one method. Code for the API of one provider (its wire) is in one file of `wires/`."""
