"""Lists of words that the rules need: small, closed classes only, in the languages that are met most."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def word_list(text: str) -> list[str]:
    return text.split()


ENGLISH_STOP_WORDS = word_set("""
a about above after again against all almost along already also although always am among an and another any anyone
anything are aren't around as at away be became because been before being below between both but by came can can't
cannot come could couldn't did didn't do does doesn't doing don't done down during each either else enough even ever
every everyone everything few for from further get gets getting go goes going gone got had hadn't has hasn't have
haven't having he he'd he'll he's hence her here here's hers herself him himself his how however i i'd i'll i'm i've
if in indeed instead into is isn't it it'd it'll it's its itself just keep kept least less let let's like made make
makes making many may maybe me might mine more moreover most much must my myself neither never nevertheless next no
nobody none nor not nothing now of off often oh okay on once one only onto or other others otherwise ought our ours
ourselves out over own per perhaps please quite rather really said same say says see seem seems seen several shall she
she'd she'll she's should shouldn't since so some someone something sometimes soon still such take taken takes than
thank thanks that that's the their theirs them themselves then there there's therefore these they they'd they'll
they're they've thing things this those though through thus till to together too took toward towards under unless
until up upon us use used uses using very via was wasn't we we'd we'll we're we've well went were weren't what what's
whatever when where whereas whether which while who who's whoever whole whom whose why will with within without won't
would wouldn't yes yet you you'd you'll you're you've your yours yourself yourselves etc eg ie vs
""")

GERMAN_STOP_WORDS = word_set("""
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim bin
bis bist da dabei damit danach dann daran darauf daraus darin das dass dazu dein deine dem den denn der deren des dessen
deshalb die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines einige einigen er
es etwa etwas euch euer eure für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr
ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jedoch jetzt kann kein keine keinem keinen
keiner können könnte machen man manche mehr mein meine mich mir mit muss müssen nach nachdem nicht nichts noch nun nur ob
oder ohne sehr sein seine seinem seinen seiner seit seitdem selbst sich sie sind so sobald solche soll sollen sollte
sondern sonst sowie über um und uns unser unsere unter viel viele vom von vor wann war waren warum was weil weiter welche
welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo wobei wollen wurde wurden würde würden
zu zum zur zwar zwischen
""")

ROMANCE_STOP_WORDS = word_set("""
au aux avec ce ces cette dans de des du elle elles en est et eux il ils je la le les leur leurs lui mais me même mes mon
ne nos notre nous on ou où par pas pour qu que qui sa sans se ses son sont sur ta te tes toi ton tu un une vos votre
vous était été être avait ont plus aussi comme al algo ante antes cada como con contra cual cuando del desde donde dos
durante el ella ellas ello ellos entre era eran es esa ese eso esta este esto está están fue fueron ha hasta hay la las
lo los más mi mis muy no nos nosotros o otra otro para pero por porque qué se según ser si sin sobre son su sus también
tanto tiene tras un una uno unos y ya yo alla alle anche che chi ci con cui da dal dalla degli dei del della delle di e
essere è gli ha hanno i il le lei loro lui ma nei nel nella non per più quale quella questo sono sul sulla tra una à às
ao aos as até com da das dos ela ele em essa esse foi isso já mais mas na nas nem no não num o os ou pela pelo qual são
seu sua também tem um uma het een van voor niet met zijn aan bij dat deze dit door ook op te werd wordt worden selon depuis pendant lors dès vers chez algunos algunas después
""")

OTHER_STOP_WORDS = word_set("""
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о
из ему теперь когда даже ну вдруг ли если уже или ни быть был него до вас нибудь опять уж вам ведь там потом себя ничего
ей может они тут где есть надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет ж тогда кто
этот того потому этого какой совсем ним здесь этом один почти мой тем чтобы нее были куда зачем всех при об это эта эти
через по также после между около является только очень который которая которые которое
من في على إلى عن مع هذا هذه ذلك التي الذي الذين كان كانت هو هي هم أن إن لا ما لم لن قد كل بعد قبل بين حتى أو ثم أي عند
غير كما لكن منذ يكون تم وقد وهو وهي وكان فقد أيضا خلال حيث فيه فيها منها عليه به بها له لها
של את על לא הוא היא הם עם זה זו כל גם או אם כי מה מי יש אין היה היתה אני אתה אנחנו אבל רק עד בין לפני אחרי אל כן
का के की को में से है हैं और पर यह वह एक ने भी था थे थी कि जो इस उस तो ही नहीं हो कर लिए साथ बाद
""")

STOP_WORDS = ENGLISH_STOP_WORDS | GERMAN_STOP_WORDS | ROMANCE_STOP_WORDS | OTHER_STOP_WORDS

MONTHS = word_list("""
january february march april may june july august september october november december jan feb mar apr jun jul
aug sept sep oct nov dec januar februar märz mai juni juli oktober dezember janvier février mars avril juin
juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre
octubre noviembre diciembre января февраля марта апреля мая июня июля августа сентября октября ноября декабря
""")
WEEKDAYS = word_list("""
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
sundays montag dienstag mittwoch donnerstag freitag samstag sonntag
""")
CALENDAR_WORDS = frozenset(MONTHS) | frozenset(WEEKDAYS)

OVERVIEW_WORDS = word_set("dataset documents everything main overview summarise summarize summary themes topics")
"""Words that ask about a dataset as a whole and need not stand in it."""
OVERVIEW_FRAME_WORDS = word_set("""
brief briefly change changed changes collection content contents cover covers current currently data deal deals describe
describes detail details develop developed discuss discussed document essence explain file files general gist give
happen happened happening happens highlights important information key know latest learn main major new news notes
outline plan plans point points project question read short situation stand stands state status story sum summarised
summarized talk talks tell text texts theme time topic today understand update whole world
fasse gib geht inhalt lage plan pläne stand themen thema überblick worum zusammen zusammenfassung
agit s'agit aperçu essentiel parle quoi résumé résume résumer sujet sujets thème thèmes vue
contenido resumen resume resumir tema temas trata
""")
"""Words beside which a question needs none of these, and which by themselves say nothing of what it is about."""

NOT_NAMES = word_set("""
agenda answer appendix attachment attendees background caption chapter conclusion contents copyright date dear decision
discussion draft example figure first firstly second secondly third thirdly finally lastly hello hi introduction item
items listen minutes note notes ok overview page part participants present proposed question questions re references
resolution resolved results section see sincerely sorry stave step subject summary table todo topic topics total true
false url version yesterday today tomorrow tonight good great nice sure right yeah oh ah hey hm hmm hurrah because since
given following according based regarding despite unlike due plus whilst besides meanwhile afterwards later earlier
currently recently previously eventually originally initially generally usually actually basically obviously clearly
certainly absolutely probably possibly hopefully unfortunately fortunately overall also additionally furthermore
altogether alas aye nay pray god humbug bah merry am pm utc gmt cet est
two three four five six seven eight nine ten eleven twelve hundred thousand million billion jr sr drop table
millionen milliarden euro prozent uhr millones millions milliards
""")
"""Words that open a line or a sentence with a capital and name nothing."""

PERSON_TITLES = word_set(
    "mr mrs ms miss dr prof professor sir lady lord dame captain admiral colonel general major sergeant president king "
    "queen prince princess judge senator father sister brother uncle aunt herr frau monsieur madame señor señora"
)
PERSON_VERBS = word_set("""
said says say asked asks told tells replied replies answered wrote writes thinks thought explained explains suggested
suggests noted notes argued agreed agrees leads led heads headed joined joins married met meets believes believed felt
wants wanted spoke speaks cried observed smiled laughed returned works worked lives lived resigned retired presented
presents reported reports mentioned walked sat stood looked kept keeps goes
sagte sagt erklärte erklärt leitet leitete déclaré dijo
""")
ORGANISATION_WORDS = word_set("""
inc ltd llc gmbh ag corp corporation company co plc university college school institute institution foundation
association committee council commission ministry department agency bureau board bank group union party society club
authority court parliament senate congress church hospital museum library laboratory lab labs team band orchestra
consortium federation airlines airways press times studios records
""")
INSTITUTIONS = word_set("""
university universität université universidad università ministry ministerium ministère ministerio institute institut
instituto committee council commission association foundation gesellschaft stiftung verein verband parliament parlament
""")
"""Wherever one of these stands in a name, it names an organisation."""
PLACE_WORDS = word_set("""
river lake mount mountain mountains island islands sea ocean bay valley desert forest street road avenue square
bridge castle palace city town village county district province state country republic kingdom port harbour
harbor airport station peninsula canal cathedral
""")
DOUBTFUL_PLACE_WORDS = word_set(
    "hall tower hill hills park beach coast cape falls abbey cottage lodge court house gardens"
)
"""Also ends of family names: a place only after a word such as `at`."""
COUNTRIES = word_set("""
afghanistan algeria argentina australia austria bangladesh belgium brazil bulgaria canada chile china colombia croatia
cuba cyprus denmark egypt england estonia ethiopia finland france germany ghana greece greenland hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan kenya korea latvia lebanon libya lithuania luxembourg malaysia
malta mexico mongolia morocco nepal netherlands nigeria norway pakistan peru philippines poland portugal romania russia
scotland serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand
tunisia turkey uganda ukraine uruguay venezuela vietnam wales zambia zimbabwe europe africa asia america antarctica
amsterdam athens barcelona beijing berlin boston brussels budapest chicago copenhagen dublin edinburgh geneva hamburg
helsinki istanbul lisbon london lyon madrid milan moscow munich oslo paris prague rome shanghai stockholm sydney tokyo
toronto vienna warsaw zurich deutschland österreich schweiz frankreich wien münchen
""")

NAME_CONNECTORS = word_set("of the de la le du des von van der den und y e al bin ibn for da dos di del zu zur am an")
"""Lower-case words that may stand inside a name."""

COMMON_VERBS = word_set("""
am is are was were be been has have had do does did will would shall should can could may might must
add added adds allow allows appear appears arrive arrives ask asks become becomes began begin begins bring brings
brought build builds built buy buys call calls carry change changed close closes comes consider contain contains cost
costs create creates cut decide decides decline declined describe end ended ends expect expects fall falls feel fell
find finds follow follows found gave get gets give given gives go goes got grew grow grows hear heard heads held help
helps hold holds include includes join joins keep keeps kept know known knows lead leads learn leave leaves led left
lie lies like live lives look looks lose lost made make makes mean means meet meets met move moves need needs offer
offers open opens own owns paid pay pays picked play plays praised provide provides put puts raise raises ran reach
reached read reads receive remain remains replace replaces report reports require requires return returns rose run runs
said sat saw say says see seem seems seen sell sells send sends sent serve serves set sets show shows shown sold speak
speaks spend spent spoke stand stands start started starts stay stays stood stop stops supplies support supports take
taken takes taught tell tells think thinks thought told took tries tried try turn turns understand use uses visit visits
want wants went win wins withdrew won
accept accepts achieve achieves affect affects aim aims apply applies argue argues attend attends avoid avoids believe
believes benefit break broke broken carried carries catch caught cause causes choose chose chosen claim claims collect
combine combines comes compare complete completes confirm confirms connect connects continue continues cover covers
define defines deliver delivers depend depends deserve develop develops discuss draw drew drawn drive drove driven earn
eat ate eaten enable enables enjoy enjoys ensure ensures enter enters exist exists explain explains express extend fight
fill finish fit fly flew focus force forget forgot form forms gain gather handle handles happen happens hate hope hopes
identify imagine improve improves increase increases indicate indicates introduce invite involve involves jams knew lack
lists listen love loves manage manages mark mention miss note notice observe obtain occur occurs operate organize perform
prefer prepare prevent produce produces promise propose protect prove pull push realize recall recognize record reduce
reduces refer refers reflect refuse refuse relate relates release rely remember remove repeat reply represent represents
respond result save saves search seek shake share shut sing sit sleep slept smile solve spread steal strike struck
succeed suffer suggest suggests suppose talk talks taste teach tear throw threw thrown touch train travel treat wait
walk wear wore wonder worry redrawn undertake wake awoke work works write writes written wrote
""")
"""Common verbs in the forms that texts have: they end a noun phrase."""
