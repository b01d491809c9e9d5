"""Which words find which texts: in every script, however a word is written, and if it is someone's name."""

from __future__ import annotations

import pytest

from tests.unit.app.searched import Searched

TEXTS = {
    "/zh.md": "我们使用Redis缓存会话，数据保存在PostgreSQL中。",
    "/ja.md": "デザインはAkikoが担当し、Terraformで管理する。",
    "/cat.md": "我家的猫很喜欢鱼",
    "/ko.md": "데이터베이스를 서울에서 운영한다",
    "/th.md": "เราเก็บข้อมูลในเชียงใหม่ทุกวัน",
    "/ar.md": "مُحَمَّد يعمل في الأَمْن",
    "/ar2.md": "شركة كبيرة في القاهرة",
    "/he.md": "שָׁלוֹם לכולם בפגישה",
    "/he2.md": "ירושלים היא עיר",
    "/hi.md": "हिन्दी में टिप्पणी लिखें",
    "/ru.md": "Ёлка стоит в Санкт-Петербурге",
    "/el.md": "Η Αθήνα είναι όμορφη",
    "/obrien.md": "Sean O'Brien owns billing.",
    "/oconnor.md": "Today O’Connor called about invoices.",
    "/oneill.md": "Yesterday O'Neill left early.",
    "/fr.md": "L'équipe parle l'anglais et dit d'accord à l’hôtel.",
    "/it.md": "Un'amica ha scritto dell'università.",
    "/nfd.md": "Das Treffen in Zu\u0308rich ist verschoben.",
    "/nfc.md": "Jos\u00e9 wohnt in M\u00fcnchen, Hauptstra\u00dfe.",
    "/people/will.md": "Leads the platform team.",
    "/may.md": "Yesterday May joined the design group.",
    "/band.md": "We heard The Who live.",
    "/gateway.md": "The api-gateway calls getUserById before anything else.",
    "/mail.md": "Send an email when the health_check fails.",
    "/de.md": "Rechnungsfreigabe nur durch zwei Personen.",
    "/de2.md": "Alle Verträge sind unterschrieben.",
    "/de3.md": "Am Sonntag war die Datenbankmigration.",
    "/de4.md": "Die Sicherung der Kopie dauerte lange.",
}


@pytest.fixture(scope="module")
def filled() -> Searched:
    scene = Searched()
    for path, text in TEXTS.items():
        scene.create(path, text)
    return scene


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("Redis", "/zh.md"), ("PostgreSQL", "/zh.md"), ("postgresql", "/zh.md"), ("缓存", "/zh.md"),
        ("Terraform", "/ja.md"), ("Akiko", "/ja.md"), ("デザイン", "/ja.md"), ("猫", "/cat.md"), ("鱼", "/cat.md"),
        ("데이터베이스", "/ko.md"), ("서울", "/ko.md"), ("운영", "/ko.md"),
        ("เชียงใหม่", "/th.md"), ("ข้อมูล", "/th.md"),
        ("محمد", "/ar.md"), ("مُحَمَّد", "/ar.md"), ("الأمن", "/ar.md"), ("القَاهِرَة", "/ar2.md"),
        ("שלום", "/he.md"), ("שָׁלוֹם", "/he.md"), ("יְרוּשָׁלַיִם", "/he2.md"),
        ("हिन्दी", "/hi.md"), ("टिप्पणी", "/hi.md"), ("елка", "/ru.md"), ("Петербурге", "/ru.md"), ("αθηνα", "/el.md"),
        ("O'Brien", "/obrien.md"), ("Brien", "/obrien.md"), ("Who is O'Connor?", "/oconnor.md"),
        ("O’Neill", "/oneill.md"),
        ("équipe", "/fr.md"), ("anglais", "/fr.md"), ("accord", "/fr.md"), ("l'hôtel", "/fr.md"), ("hotel", "/fr.md"),
        ("università", "/it.md"), ("amica", "/it.md"),
        ("Zürich", "/nfd.md"), ("zurich", "/nfd.md"), ("Mu\u0308nchen", "/nfc.md"), ("Jose", "/nfc.md"),
        ("HAUPTSTRASSE", "/nfc.md"),
        ("Will", "/people/will.md"), ("Where does Will work?", "/people/will.md"), ("May", "/may.md"),
        ("The Who", "/band.md"),
        ("apigateway", "/gateway.md"), ("api gateway", "/gateway.md"), ("UserById", "/gateway.md"),
        ("getUserById", "/gateway.md"), ("e-mail", "/mail.md"), ("health check", "/mail.md"),
        ("healthcheck", "/mail.md"),
        ("Rechnung", "/de.md"), ("Vertrag", "/de2.md"), ("Freigabe", "/de.md"),
        ("Datenbank", "/de3.md"), ("Migration", "/de3.md"), ("Sicherungskopie", "/de4.md"),
    ],
)  # fmt: skip
def test_a_word_finds_the_text_that_has_it_first(filled: Searched, query: str, path: str) -> None:
    assert filled.search(query)[:1] == [path]


@pytest.mark.parametrize("query", ["Who is O'Connor?", "équipe", "Redis", "猫", "서울", "Migration"])
def test_a_word_that_one_text_has_finds_no_other(filled: Searched, query: str) -> None:
    assert len(filled.search(query)) == 1
