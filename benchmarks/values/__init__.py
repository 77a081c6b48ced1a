"""How many planted faults of exam items and problems code refuses, and how many good twins it keeps."""
