"""Banks of exam items on the review page."""
