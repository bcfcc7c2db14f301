"""The language of a text, its stopwords and its stems."""

from __future__ import annotations

from datetime import datetime

import pytest

from ragvault.retrieval.question.query import analyse
from ragvault.text import language_of, stem, stems, stopwords, tokens

NOW = datetime(2024, 5, 15, 10, 30)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("what is priya's mobile number", "en"),
        ("Wann hat Hauke Geburtstag?", "de"),
        ("Où est le contrat de l'appartement ?", "fr"),
        ("¿Qué escribí sobre la boda?", "es"),
        ("Quando scade l'assicurazione della macchina?", "it"),
        ("Quando é a consulta da minha mãe?", "pt"),
        ("Hoeveel kost de fiets van Jan?", "nl"),
        ("Какой пароль от роутера?", "ru"),
        ("我的密码是什么", "zh"),
        ("パスワードは何ですか", "ja"),
        ("ما هي كلمة السر", "ar"),
        ("wifi password", ""),
        ("2024-05-15", ""),
        ("", ""),
    ],
)
def test_a_language_is_told_by_script_and_small_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_what_is_expected_decides_where_words_are_of_two_languages() -> None:
    assert language_of("was macht Anna", ("de", "en")) == "de"
    assert language_of("was Anna there", ("en", "de")) == "en"
    assert language_of("die cast", ("en",)) == "", "half a word makes no German vault"
    assert language_of("Où est le contrat ?", ("en",)) == "fr"


@pytest.mark.parametrize(
    ("language", "question", "terms"),
    [
        ("de", "Wann muss ich die Wohnung gekündigt haben?", ("wohnung", "gekündigt")),
        ("de", "Wer war beim Treffen über das neue Dach?", ("treffen", "neue", "dach")),
        ("fr", "Combien coûte l'abonnement du train ?", ("coûte", "abonnement", "train")),
        ("fr", "Pourquoi avons-nous quitté l'école d'été ?", ("quitté", "école", "été")),
        ("es", "¿Cuándo vence el seguro del coche?", ("vence", "seguro", "coche")),
        ("es", "¿Dónde están las llaves de mi hermana?", ("llaves", "hermana")),
        ("it", "Qual è il numero dell'idraulico?", ("qual", "numero", "idraulico")),
        ("pt", "Onde está o contrato da casa?", ("contrato", "casa")),
        ("nl", "Wanneer wordt de fiets van Jan gemaakt?", ("fiets", "jan", "gemaakt")),
    ],
)
def test_small_words_of_the_questions_language_are_not_searched_for(
    language: str, question: str, terms: tuple[str, ...]
) -> None:
    found = analyse(question, NOW)
    assert (found.language, found.terms) == (language, terms)


def test_small_words_of_another_language_are_searched_for() -> None:
    """ "die", "war" and "man" mean something in English."""
    assert analyse("how did the man die in the war", NOW).terms == ("man", "die", "war")


def test_a_question_that_tells_no_language_is_read_in_that_of_the_notes() -> None:
    assert analyse("Passwort Router", NOW, ("de", "en")).language == "de"
    assert analyse("Passwort Router", NOW, ("", "de")).language == "de"
    assert analyse("router password", NOW).language == "en"


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "decisions", "decision"),
        ("de", "Rechnungen", "Rechnung"),
        ("de", "Häuser", "Haus"),
        ("de", "Straße", "Strasse"),
        ("fr", "réservations", "réservation"),
        ("es", "canciones", "canción"),
        ("it", "appartamenti", "appartamento"),
        ("pt", "casas", "casa"),
        ("nl", "boeken", "boek"),
        ("ru", "пароли", "пароль"),
    ],
)
def test_two_forms_of_a_word_have_one_stem(language: str, one: str, other: str) -> None:
    assert {stem(token, language) for token in tokens(one)} <= stems(other, language)


def test_marks_are_folded_on_latin_letters_only() -> None:
    assert stem("café", "fr") == stem("cafe", "fr")
    assert stem("がく", "ja") != stem("かく", "ja")
    assert stem("й", "ru") != stem("и", "ru")


def test_an_apostrophe_parts_words_but_not_a_short_form() -> None:
    assert tokens("l'école d’Anna") == ["l", "école", "d", "anna"]
    assert tokens("Anna's dog doesn’t") == ["annas", "dog", "doesnt"]
    assert {"don't", "dont"} <= stopwords()
