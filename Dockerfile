# The dispatcher; the worker is the same image with the command `python manage.py run_worker`. Needs DATABASE_URL,
# FLOWSCHED_SECRET_KEY and FLOWSCHED_EXECUTOR; the embedded database is for machines without one, not for containers.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin flowsched \
    && mkdir /data && chown flowsched /data
COPY . .

ENV FLOWSCHED_DATA_DIR=/data
USER flowsched
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "run_dispatcher"]
