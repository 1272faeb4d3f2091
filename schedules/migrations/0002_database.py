"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("schedules", "0001_initial")]

    operations = [
        # An advance always moves an indexed column, so it is never a HOT update: leave room and vacuum early, or a
        # long transaction elsewhere makes the claim scan thousands of dead index entries.
        migrations.RunSQL(
            "ALTER TABLE task_schedule SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01)",
            "ALTER TABLE task_schedule RESET (fillfactor, autovacuum_vacuum_scale_factor)",
        ),
    ]
