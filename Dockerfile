# One image for all processes, told apart by the command:
#   python manage.py run_dispatcher                      one or more (the default command)
#   python manage.py run_worker                          one or more
#   python manage.py serve_web --bind 0.0.0.0:8000       behind a proxy that ends HTTPS, which
#                                                        FLOWSCHED_WEB_TRUSTED_PROXIES names
#   python manage.py serve_grpc --bind 0.0.0.0:50051     with TLS: beyond this machine it serves nothing without
#   python manage.py migrate                             before each of them, once a release
# Needs DATABASE_URL, FLOWSCHED_SECRET_KEY, FLOWSCHED_EXECUTOR and, for the web, FLOWSCHED_ALLOWED_HOSTS.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app

COPY requirements.txt .
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.txt

RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin flowsched \
    && mkdir /data && chown flowsched /data
COPY . .

# The pages' files, collected once and for all; test mode, because nothing is configured yet.
ENV FLOWSCHED_DATA_DIR=/data FLOWSCHED_STATIC_DIR=/app/static
RUN FLOWSCHED_TESTING=1 python manage.py collectstatic --no-input --verbosity 0

EXPOSE 8000 50051
USER flowsched
STOPSIGNAL SIGTERM
CMD ["python", "manage.py", "run_dispatcher"]
