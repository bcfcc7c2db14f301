"""Results of the service as text for a person, on stdout; notices and progress on stderr."""
