"""The page in a real browser: it renders, asks for nothing, and can be read on any screen and on paper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rescue_pipeline.report.report import ReportFiles
from tests.browser import Browser, Page, browser, why_no_browser
from tests.report.conftest import make_report
from tests.report.factory import BASELINES, Model

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or "")

A4_WIDTH = 703
"""CSS pixels between margins of 12 mm."""

LOWEST_CONTRAST = """
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const over = (colour, below) => {
    canvas.fillStyle = `rgb(${below.join(' ')})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = rgb => rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = element => {
    const below = element.parentElement ? ground(element.parentElement) : [255, 255, 255];
    return over(getComputedStyle(element).backgroundColor, below);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let lowest = 99;
  while (walker.nextNode()) {
    if (!walker.currentNode.data.trim()) continue;
    const element = walker.currentNode.parentElement, below = ground(element);
    const [a, b] = [light(over(getComputedStyle(element).color, below)), light(below)].sort((x, y) => y - x);
    lowest = Math.min(lowest, (a + .05) / (b + .05));
  }
  return lowest;
})()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Every kind of cell: failed, incomplete, judged, in two modalities, with the paper's rings."""
    judged = Model("a-model-with-a-rather-long-name-2026-03-01", judge="gpt-judge", judge_kind="llm", failed=2)
    others = (Model("halfway", unanswered=4), Model("uniform", modality="audio"))
    return make_report(
        tmp_path_factory.mktemp("browser"), models=(*BASELINES, judged, *others), released=True, rejects=2
    )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium: Browser, files: ReportFiles) -> Page:
    return chromium.open(files.html.as_uri())


def test_the_page_renders_without_a_complaint_and_asks_for_nothing_else(page: Page, files: ReportFiles) -> None:
    assert page.evaluate("document.querySelectorAll('.board tbody tr').length") > 4
    assert page.console == []
    assert page.requests == [files.html.as_uri()]


def test_the_first_screen_holds_verdict_and_leaderboard(page: Page) -> None:
    bottom = "document.querySelector('{}').getBoundingClientRect().bottom"
    assert page.evaluate(bottom.format(".lead")) < 300
    assert page.evaluate(bottom.format(".board tbody tr")) < 800


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_only_tables_scroll_sideways(page: Page, width: int) -> None:
    page.set_viewport(width, 740)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_laptop_the_leaderboard_needs_no_scrolling(page: Page) -> None:
    assert page.evaluate("(board => board.scrollWidth <= board.clientWidth)(document.querySelector('.scroll'))")


def test_on_paper_no_column_is_cut_and_what_was_folded_is_shown(page: Page) -> None:
    page.set_viewport(A4_WIDTH, 1000)
    page.set_media(printed=True)
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.getBoundingClientRect().right <= innerWidth)"
    )
    assert page.evaluate("document.querySelector('details .board').checkVisibility({contentVisibilityAuto: true})")


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_can_be_read(page: Page, dark: bool) -> None:
    page.set_media(dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(LOWEST_CONTRAST) >= 4.5


def test_dark_readers_get_a_dark_page(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.set_media(dark=True)
    assert page.evaluate(ground) != "rgb(255, 255, 255)"


def test_the_keyboard_reaches_everything_and_shows_where_it_is(page: Page) -> None:
    reached = []
    for _ in range(6):
        page.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        reached.append((page.evaluate("document.activeElement.tagName"), outline))
    assert reached[0] == ("A", "solid")
    assert {name for name, _ in reached} >= {"A", "DIV", "SUMMARY"}
    assert {outline for _, outline in reached} == {"solid"}


def test_two_weights_of_type_are_enough(page: Page) -> None:
    weights = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].map(e => getComputedStyle(e).fontWeight))]"
    )
    assert set(weights) == {"400", "600"}
