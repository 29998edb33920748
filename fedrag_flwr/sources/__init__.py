"""Documents in: folders of files, databases and graphs."""
