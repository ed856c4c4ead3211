"""The active customers of a mirror as CSV: what one writes in ten minutes with the standard library of Python."""

import csv
import os
import sqlite3
import sys

mirror, output = sys.argv[1:]
connection = sqlite3.connect(f"file:{mirror}?mode=ro", uri=True)
rows = connection.execute("SELECT * FROM active_customers")
with open(output + ".part", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(column[0] for column in rows.description)
    writer.writerows(rows)
    file.flush()
    os.fsync(file.fileno())
os.rename(output + ".part", output)
