"""Stop words: words that say too little to be searched."""

from __future__ import annotations

from typing import Final

from sleuth.text.words import fold

_LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
"""

_MORE = """
about above after again against all also am any because been before being below between both can could did do does
doing don down during each few from further had has have having he her here hers herself him himself his how i its
itself just let may me might more most my myself nor now off once one only other our ours ourselves out over own per
same shall she should so some than theirs them themselves those through too two under until up upon us very via were
what when where which while who whom why would you your yours yourself yourselves among
"""

LUCENE = frozenset(_LUCENE.split())
"""The 33 words that Lucene and tantivy leave out of English text."""

ENGLISH = (
    LUCENE
    | frozenset(_MORE.split())
    | frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
    | {"eg", "e.g.", "ie", "i.e."}
)
"""The words of NLTK's list without clitics, modal verbs, and single letters and digits. Mean nDCG@10 over ten
collections: .494 without a list, .500 with Lucene's, .522 with this one; single letters and digits cost .03 on CACM."""


_FUNCTION_WORDS: Final = {
    "ar": "في من على إلى عن مع هذا هذه التي الذي أن إن و أو كان كانت قد ما لا هو هي ثم بين كما",
    "ca": "el la els les un una uns unes de del dels i o a al als en amb per que es ha no com",
    "cs": "a i v ve na do z ze s se k ke o u za po že je jsou byl byla bylo to ten ta který která které jako ale by",
    "da": "og i at det en et den til er som på de med af for der var ikke har fra ved om men",
    "de": "der die das den dem des ein eine einen einem einer eines und oder in im an am zu zum zur von vom mit auf "
    "für ist sind war waren wird wurde wurden hat als auch es sich bei nach aus dass",
    "el": "ο η το οι τα του της των τον την τους τις και",
    "eo": "la de kaj en al estas estis ke por kun el je pri sed kiu kiuj ĝi oni li ŝi",
    "es": "el la los las un una unos unas de del y o a al en con por para que es son fue se su sus no como lo más",
    "et": "ja on oli ei et ka kui see mis ning või oma selle",
    "eu": "eta da ez bat zen du ere dira den hau izan dute",
    "fa": "و در به از که این را با است برای آن یک بود تا بر شد می",
    "fi": "ja on oli ei että se joka jotka myös sekä tai kun hän ovat olivat mutta kuin",
    "fr": "le la les l un une des d de du et ou à au aux en dans par pour sur avec que qu qui est sont été se s ce "
    "cette ces il elle ne n pas son sa ses plus comme",
    "ga": "an na agus i ar le do de go is a ag as don leis sa tá bhí",
    "hi": "के का की में है हैं को से ने और पर यह वह था थे थी एक ही भी इस कि या तो लिए हो गया",
    "hu": "a az és hogy is nem egy volt ez de mint meg vagy ki el van ezt",
    "hy": "և է են եւ ի որ մեջ այս էր մի համար",
    "id": "yang dan di ke dari untuk dengan pada adalah ini itu dalam oleh sebagai atau juga tidak",
    "it": "il lo la i gli le un una uno di del dello della dei degli delle e o a al allo alla ai agli alle in nel "
    "nella nei nelle con per da dal dalla su sul sulla che è sono fu si non come l d",
    "lt": "ir yra į iš su kad tai buvo ar kaip už jo bet",
    "ne": "र को मा छ यो ले एक का छन् हो थियो पनि",
    "nl": "de het een en of in van te op met voor aan bij is zijn was waren wordt werd die dat er door als ook niet om",
    "no": "og i det er en et som på til den de med av for var ikke har fra om at ved men",
    "pl": "i w we na z ze do o u za po się że jest są był była było to ten ta który która które jako oraz a ale nie",
    "pt": "o a os as um uma uns umas de do da dos das e ou em no na nos nas com por para que é são foi se ao à pelo "
    "pela não como mais",
    "ro": "și şi sau a al ale ai de la în pe cu din pentru că care este sunt era fost un o unei unui se nu ca mai prin",
    "ru": "и в во на с со к ко по из от у о об за для что как это не а но же был была было были его её их или при до",
    "sr": "i u na je se da su za od sa o kao koji koja koje bio bila и у на је се да су за од са о као који која које",
    "st": "le ya ka ho e a o ba sa la ke",
    "sv": "och i att det en ett den som på är av för med till de var inte har från om men vid",
    "ta": "மற்றும் ஒரு என்று இந்த அந்த என இது அது",
    "tr": "ve bir bu da de ile için olarak olan en çok o ise ya daha gibi",
    "vi": "và",
    "yi": "און די דער דאָס איז אין צו פֿון מיט אַ אַן",
}
"""The commonest articles, conjunctions, prepositions and forms of "be". Longer lists lose: over questions in nine
languages those of two packages cost up to .045 of MRR, because words such as "year" or "people" are in them."""


_QUESTION_WORDS: Final = {
    "ar": "ما ماذا من متى أين كيف كم هل لماذا أي",
    "ca": "què qui quan on com quin quina quins quines quant quants",
    "cs": "co kdo kdy kde jak jaký jaká jaké kolik proč čí",
    "da": "hvad hvem hvornår hvor hvordan hvorfor hvilken hvilket hvilke",
    "de": "was wer wann wo wie warum welche welcher welches welchem welchen wessen wem wen viele viel",
    "el": "τι ποιος ποια ποιο ποιοι ποιες ποιον ποιους ποιων πότε πού πώς γιατί πόσο πόσα πόσοι πόσες",
    "eo": "kio kiu kiam kie kiel kial kiom",
    "es": "qué quién quiénes cuándo dónde cómo cuál cuáles cuánto cuántos cuántas",
    "et": "mis kes millal kus kuidas miks kui palju milline",
    "eu": "zer nor noiz non nola zergatik zein zenbat",
    "fa": "چه چیست کی کجا چگونه چرا کدام چند",
    "fi": "mikä mitä kuka milloin missä miten miksi kuinka mikä monta paljon",
    "fr": "quoi quel quelle quels quelles qui quand où comment pourquoi combien lequel laquelle",
    "ga": "cad cé cathain cá conas",
    "hi": "क्या कौन कब कहाँ कैसे कितने कितना कितनी किस किसने किसके किसे क्यों कौनसा",
    "hu": "mi mit ki mikor hol hogyan miért melyik milyen mennyi hány",
    "hy": "ինչ ով երբ որտեղ ինչպես ինչու քանի",
    "id": "apa siapa kapan mana bagaimana mengapa kenapa berapa",
    "it": "cosa chi quando dove perché quale quali quanto quanti quante quanta cos",
    "lt": "kas kada kur kodėl koks kokia kuris kiek",
    "ne": "के को कहिले कहाँ कसरी किन कुन कति",
    "nl": "wat wie wanneer waar hoe waarom welke welk hoeveel",
    "no": "hva hvem når hvor hvordan hvorfor hvilken hvilket hvilke",
    "pl": "co kto kiedy gdzie jak dlaczego jaki jaka jakie ile który która które",
    "pt": "quê quem quando onde como qual quais quanto quantos quantas porquê",
    "ro": "ce cine când unde cum care câte câți câtă cât cărui cui",
    "ru": "что кто когда где как какой какая какое какие каком каких какую сколько почему чем кем кого",
    "sr": "šta ko kada gde kako zašto koji koliko шта ко када где како зашто колико",
    "sv": "vad vem när var hur varför vilken vilket vilka",
    "ta": "என்ன யார் எப்போது எங்கே எப்படி ஏன் எத்தனை எது",
    "tr": "ne kim nerede nasıl kaç hangi neden kimin nedir hangisi mi mı",
    "vi": "gì ai khi nào đâu bao nhiêu sao tại",
    "yi": "וואָס ווער ווען ווו ווי פֿאַרוואָס",
}
"""Question words: they do not occur in the text of an answer."""


def stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language, by its code; none for a language without a list."""
    return frozenset(map(fold, f"{_FUNCTION_WORDS.get(code, '')} {_QUESTION_WORDS.get(code, '')}".split()))
