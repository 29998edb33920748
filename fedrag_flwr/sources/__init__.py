"""Documents in: folders of files, benchmark files and their partition over devices."""
