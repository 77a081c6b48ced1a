"""The seven roles that work on physics problems, one file each. What they submit is judged by whom they are asked by."""
