"""What the database itself enforces and Django's schema editor cannot write."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.RunSQL(
            """
            CREATE FUNCTION audit_entry_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION $m$audit_entry is append-only: % refused$m$, TG_OP;
            END $$;
            CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE ON audit_entry
                FOR EACH ROW EXECUTE FUNCTION audit_entry_append_only();
            """,
            "DROP TRIGGER audit_entry_append_only ON audit_entry; DROP FUNCTION audit_entry_append_only()",
        ),
    ]
