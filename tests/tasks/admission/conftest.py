import pytest

from tests.tasks.admission.recorder import Recorder


@pytest.fixture(autouse=True)
def engine(settings):
    settings.FLOWSCHED_ENGINE = "tests.tasks.admission.recorder.Recorder"
    Recorder.ids.clear()
    return Recorder
