"""The memory that assistants ask: tickets and notes, over MCP or from a prompt hook."""
