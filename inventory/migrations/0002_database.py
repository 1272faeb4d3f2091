"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inventory", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE bmc ADD CONSTRAINT bmc_component FOREIGN KEY (component_id) REFERENCES component (id) ON DELETE CASCADE",
            "ALTER TABLE bmc DROP CONSTRAINT bmc_component",
        ),
    ]
