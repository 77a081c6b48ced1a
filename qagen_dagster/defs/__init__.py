"""The asset graph: thin definitions over the loop. Domain logic lives below, never here."""
