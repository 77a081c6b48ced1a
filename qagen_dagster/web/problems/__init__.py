"""Banks of problems on the review page."""
