"""Language models, which are all called by one method. The API of one kind of server is called a wire, and has one file in `wires/`."""
