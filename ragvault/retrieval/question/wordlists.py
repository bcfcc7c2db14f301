"""Words that query analysis knows. Lower case, as ``text.words`` gives them."""

from __future__ import annotations


def _phrases(listed: str) -> tuple[str, ...]:
    """Longest first, so that "good morning" is taken before "good"."""
    found = {" ".join(phrase.split()) for phrase in listed.split(",")}
    return tuple(sorted(found - {""}, key=lambda phrase: (-len(phrase), phrase)))


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


GREETINGS = _phrases(
    """hi, hello, hey, hiya, howdy, yo, greetings, good morning, good afternoon, good evening,
    good day, good night, how are you, how are you doing, what's up, whats up, sup, bye, goodbye,
    hallo, hi zusammen, guten tag, guten morgen, guten abend, gute nacht, moin, servus, grüß gott,
    tschüss, wie geht's, wie geht es dir, hola, buenos días, buenos dias, buenas tardes,
    buenas noches, qué tal, bonjour, bonsoir, salut, coucou, ça va, ciao, salve, buongiorno,
    buonasera, olá, oi, bom dia, boa tarde, boa noite, hej, hei, hoi, ahoj, cześć, merhaba,
    selam, привет, здравствуйте, добрый день, привіт, γεια σου, 你好, 您好, 早上好, 嗨, こんにちは,
    おはよう, こんばんは, 안녕, 안녕하세요, مرحبا, السلام عليكم, שלום, नमस्ते, namaste, xin chào"""
)

THANKS = _phrases(
    """thanks, thank you, thank u, thx, ty, cheers, much appreciated, danke, danke schön,
    danke dir, vielen dank, dankeschön, merci, merci beaucoup, gracias, muchas gracias, grazie,
    grazie mille, obrigado, obrigada, bedankt, dank je, dank u, tack, tack så mycket, tak, takk,
    kiitos, dziękuję, dzięki, děkuji, teşekkürler, teşekkür ederim, спасибо, дякую, ευχαριστώ,
    谢谢, 谢谢你, 謝謝, 多谢, ありがとう, ありがとうございます, 감사합니다, 고마워, شكرا, תודה,
    धन्यवाद, cảm ơn"""
)

SMALL_TALK_FILLERS = _words(
    """there all everyone everybody again so very much lot a you u for your the help that this was
    is great ok okay nice cool perfect awesome ragvault today my friend buddy mate dear and to bot
    assistant beaucoup sehr schön dir mille und et y 吗 ！"""
)

BROAD = _words(
    """overview everything all list lists compare comparison contrast summary summarise summarize
    summaries every entire whole outline themes topics themes ideas differences various complete
    überblick alles alle zusammenfassung vergleiche liste resumen todo todos todas compara lista
    aperçu tout toutes résumé compare comparer"""
)

NARROW_START = tuple(
    f"{words} "
    for words in (
        "when", "who", "whom", "whose", "where", "which", "how many", "how much", "how old",
        "how long", "how far", "how tall", "what year", "what date", "what day", "what time",
        "wann", "wer", "wo", "welche", "welcher", "welches", "wie viele", "wie viel",
        "cuándo", "quién", "dónde", "cuál", "cuántos", "cuántas", "cuánto",
        "quand", "qui", "où", "quel", "quelle", "combien",
    )
)  # fmt: skip

# What questions begin with.
ASKING = _words(
    """what which who whom whose when where why how was welche welcher welches welchen wer wen wem
    wann wo warum wie wieso quel quelle quels quelles qui quand où pourquoi comment combien qué
    cuál cuáles quién cuándo dónde cómo cuánto cuánta cuántos cuántas che quale quali chi quando
    dove perché come quanto quanta quanti quante qual quais quem onde como wat welke wie wanneer
    waar waarom hoe что какой какая какие кто когда где почему как сколько many much long old far
    viele viel lange"""
)

# Words that say "nothing to search for" when they are all there is.
VAGUE = _words(
    """tell thing things stuff something anything explain elaborate continue mean means meant
    happened happen happens ok okay yes yeah really say says said one ones others else know think
    thought hm hmm huh help please detail details example question answer"""
)

# What people call writing a note.
TOLD = _words(
    """note notes noted write wrote written jot jotted mention mentions mentioned notiz notizen
    notiert geschrieben aufgeschrieben nota notas escribí escrito anoté anotado écrit noté scritto
    annotato escrevi anotei notities geschreven genoteerd"""
)

# What people call what they did in their notes, and the notes.
GENERIC = TOLD | _words(
    """writes writing entry entries do did done doing work worked
    working happen happened happens journal diary log logs vault add added create created change
    changed edit edited update updated modify modified record recorded file files show
    list document documented capture captured save saved up things stuff thing something
    schrieb gemacht escribir hice hecho fait"""
)

RECENCY = _words(
    """recent recently latest newest lately last new neueste neuesten neue letzte letzten kürzlich
    neulich zuletzt reciente recientes recientemente últimas últimos última último récent récente
    récents récentes récemment dernière dernières dernier derniers"""
)

TIME_WORDS = _words(
    """day days week weeks month months year years today yesterday tonight morning afternoon
    evening past previous ago time most few couple"""
)
