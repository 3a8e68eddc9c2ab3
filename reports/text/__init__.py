"""Reports as text: summary, terminal, JUnit."""
