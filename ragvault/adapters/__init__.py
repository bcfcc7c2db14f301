"""What stands behind the ports: each family of libraries in a package of its own.

Third-party exceptions stop here: each package turns its libraries' into ragvault's, in one table
where there are many. A library is imported where it is first used, never when ragvault starts.
Which adapter a name in the config means stands in ``config/profiles.py``.
"""
