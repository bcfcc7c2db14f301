"""What can be configured, and reading it.

In: the YAML file, the RAGVAULT_* variables. Out: one validated, frozen ``Settings``, with where
each value came from; or a ConfigError that names file, line and key.

settings   every setting with its type, bounds, default and meaning: to add one, a line there
backends   the vector stores, embedders and rerankers that a setting can choose
profiles   the embedding models that ragvault is tuned for
keys       what ``settings`` says, as names, words and config.example.yaml
file       reads the sources, the later over the earlier, and puts what is wrong into words
"""
