"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("tasks", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE run ADD CONSTRAINT run_task FOREIGN KEY (task_id) REFERENCES task (id) ON DELETE CASCADE",
            "ALTER TABLE run DROP CONSTRAINT run_task",
        ),
    ]
