import pytest

from tasks.engine import get_engine


@pytest.fixture(autouse=True)
def engine(settings):
    settings.FLOWSCHED_ENGINE = "tests.tasks.admission.recorder.Recorder"
    recorder = get_engine()
    recorder.ids.clear()
    return recorder
