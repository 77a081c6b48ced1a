"""Language models, which are all called by one method. The code for the API of a provider, its wire, is in one file of `wires/`."""
