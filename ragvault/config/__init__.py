"""What can be configured, and reading it.

In: the YAML file, the RAGVAULT_* variables. Out: one validated, frozen ``Settings``, with where
each value came from; or a ConfigError that names file, line and key.
"""
