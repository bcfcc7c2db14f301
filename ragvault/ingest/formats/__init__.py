"""ingest/formats."""
