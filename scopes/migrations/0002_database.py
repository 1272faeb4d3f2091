"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("scopes", "0001_initial"), ("schedules", "0002_database"), ("tasks", "0002_database")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE task_schedule_scope ADD CONSTRAINT task_schedule_scope_schedule FOREIGN KEY (schedule_id) REFERENCES task_schedule (id) ON DELETE CASCADE",
            "ALTER TABLE task_schedule_scope DROP CONSTRAINT task_schedule_scope_schedule",
        ),
        migrations.RunSQL(
            "ALTER TABLE task_schedule_scope ADD CONSTRAINT task_schedule_scope_last_task_fk FOREIGN KEY (last_task_id) REFERENCES task (id) ON DELETE SET NULL",
            "ALTER TABLE task_schedule_scope DROP CONSTRAINT task_schedule_scope_last_task_fk",
        ),
    ]
