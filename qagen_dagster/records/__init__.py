"""Our durable values: pure, frozen, validated, with no behaviour beyond that."""
