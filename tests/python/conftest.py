"""A file whose every test is skipped ends as one: by name, and with the status that Meson takes for a skip."""
MESON_SKIPPED = 77


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get('skipped', []):
        print(f'skipped: {report.nodeid}: {report.longrepr[2]}')


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == 5:  # pytest: no test ran
        session.exitstatus = MESON_SKIPPED
