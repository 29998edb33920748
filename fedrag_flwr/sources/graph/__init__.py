"""Property graphs as sources: Ladybug files and Neo4j, read through a mapping and never written."""
