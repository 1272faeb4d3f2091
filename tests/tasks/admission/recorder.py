"""An engine that only remembers, for tests of what is enqueued and when."""

from django.db import connection


class Recorder:
    ids = []  # of the class: however many instances are made, there is one queue

    def enqueue(self, task_ids, *, queue="tasks"):
        del queue
        assert connection.in_atomic_block, "a job is enqueued in the task's own transaction"
        self.ids.extend(task_ids)

    def missing(self, task_ids):
        return [task_id for task_id in task_ids if task_id not in self.ids]
