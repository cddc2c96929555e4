"""The parts of the HTML page: markup that escapes by default, charts, flow maps, sections."""
