"""Faulty candidates with their good twins, made by script from public documents: what code and the validator refuse."""
