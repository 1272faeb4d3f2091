"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("dispatcher", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE firing_scope ADD CONSTRAINT firing_scope_firing FOREIGN KEY (firing_id) REFERENCES firing (id) ON DELETE CASCADE",
            "ALTER TABLE firing_scope DROP CONSTRAINT firing_scope_firing",
        ),
    ]
