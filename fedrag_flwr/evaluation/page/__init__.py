"""The report's page: chart geometry, and its markup, style and script as strings, since an app ships no other files."""
