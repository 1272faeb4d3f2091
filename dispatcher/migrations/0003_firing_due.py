"""Finding recent firings by when they were due, for charts and the calendar.

A block range index: firings are written in about the order of their due times, so a few numbers per 32 pages say
where to look. A tree on the time would cost every firing two entries, one when it opens and one when it closes.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("dispatcher", "0002_database")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX firing_due ON firing USING brin (due_at) WITH (pages_per_range = 32, autosummarize = on)",
            "DROP INDEX firing_due",
        ),
    ]
