/** The vocabulary of generated questions. */

const list = (words: string): string[] => words.trim().split(/\s*,\s*/);

export const PEOPLE =
  list(`Amara, Bastian, Carlotta, Dmitri, Elif, Fiona, Gustavo, Hanna, Ibrahim, Jolanda, Kenji, Leila, Mateo,
  Nadia, Oskar, Priya, Quentin, Rosalind, Stefan, Tamsin, Ulrich, Valeria, Wendell, Ximena, Yusuf, Zelda, Anselm, Brigitte, Cedric,
  Dolores, Emeka, Freya, Gideon, Harriet, Ingrid, Jamal, Katarina, Lorenzo, Mirela, Nikolai, Odette, Pablo, Renata, Soren, Tobias`);
/** Names for the text around questions, which are never part of an answer. */
export const NAMES_NEVER_IN_ANSWERS = list(
  `Mr Hale, Ms Okafor, Dr Lindqvist, Mrs Petrov, Mr Tanaka, Ms Duarte, Dr Achebe, Mr Novak, Mrs Iyer, Ms Brandt`,
);
export const PLACES =
  list(`Lisbon, Oslo, Nairobi, Kyoto, Toronto, Valencia, Prague, Lima, Cairo, Helsinki, Dublin, Athens, Bergen,
  Marseille, Seville, Krakow, Geneva, Antwerp, Tallinn, Porto, Malmo, Bologna, Utrecht, Leipzig, Quito, Denver, Perth, Osaka`);
export const GOODS =
  list(`lamps, chairs, notebooks, kettles, blankets, candles, bicycles, umbrellas, mirrors, baskets, pillows, ladders,
  lanterns, buckets, mugs, carpets, clocks, helmets, scarves, vases, tents, shovels, jackets, cameras, drums`);
export const SNACKS = list(
  `apples, plums, muffins, eggs, pears, pretzels, lemons, cookies, peaches, bagels, oranges, figs, biscuits, tomatoes`,
);
export const COLOURS = list("red, blue, green, yellow, purple, orange, white, black, brown, silver, pink, grey");
export const ROOMS =
  list(`library, kitchen, workshop, cellar, attic, studio, canteen, garage, greenhouse, lobby, laundry, chapel,
  gallery, boathouse, pantry`);
export const WEEKDAYS = list("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday");
export const MONTHS = list(
  "January, February, March, April, May, June, July, August, September, October, November, December",
);
export const TEAMS = list("sales, legal, design, finance, support, logistics, research, security, catering, marketing");
export const ORDER_STATES = list("shipped, pending, cancelled, returned, delayed, paid");
export const OCCUPATIONS =
  list(`plumber, dentist, pilot, baker, tailor, nurse, painter, lawyer, gardener, carpenter, florist, butcher, librarian,
  welder, translator, optician`);
export const SHORT_WORDS =
  list(`garden, silver, monkey, planet, winter, castle, butter, magnet, pocket, rocket, window, forest, basket,
  candle, dragon, engine, finger, guitar, hammer, island, jungle, kitten, ladder, marble, needle, orange, pepper, rabbit, saddle, tunnel`);
export const WORDS_TO_SPELL_BACKWARDS = list(
  "lamp, frog, desk, milk, wind, gold, bird, salt, tree, moon, ship, corn, fist, hand, palm, clay, drum, fork",
);

export const WORDS_BY_CATEGORY: Record<string, string[]> = {
  "an animal": list(
    "otter, camel, badger, falcon, lizard, dolphin, hedgehog, squirrel, panther, donkey, sparrow, walrus",
  ),
  "a fruit": list("mango, apricot, cherry, banana, papaya, raspberry, grape, pineapple, blueberry, melon"),
  "a vehicle": list("tractor, tram, lorry, scooter, canoe, helicopter, ambulance, ferry, bulldozer, motorcycle"),
  "a musical instrument": list("violin, trumpet, cello, flute, harp, banjo, clarinet, accordion, trombone, saxophone"),
  "a piece of clothing": list(
    "sweater, trousers, blouse, mitten, cardigan, raincoat, sandal, waistcoat, stocking, pyjamas",
  ),
  "a kitchen tool": list("whisk, ladle, spatula, grater, colander, saucepan, corkscrew, peeler, teapot, toaster"),
  "a vegetable": list("carrot, cabbage, spinach, leek, turnip, broccoli, cauliflower, asparagus, celery, parsnip"),
  "a job": list("surgeon, plumber, dentist, cashier, firefighter, teacher, electrician, journalist, barber, architect"),
  "a part of the body": list("elbow, ankle, shoulder, knee, eyebrow, wrist, thumb, stomach, chin, heel"),
};

/**
 * The languages of `DICTIONARY`, in the order of its columns. Each row is one word with a single common translation.
 */
export const LANGUAGES = ["English", "Spanish", "French", "German", "Italian"];
export const TRANSLATIONS: string[][] = `
  house|casa|maison|Haus|casa; water|agua|eau|Wasser|acqua; bread|pan|pain|Brot|pane; cat|gato|chat|Katze|gatto; dog|perro|chien|Hund|cane;
  milk|leche|lait|Milch|latte; sun|sol|soleil|Sonne|sole; moon|luna|lune|Mond|luna; night|noche|nuit|Nacht|notte; day|día|jour|Tag|giorno;
  book|libro|livre|Buch|libro; table|mesa|table|Tisch|tavolo; door|puerta|porte|Tür|porta; window|ventana|fenêtre|Fenster|finestra;
  horse|caballo|cheval|Pferd|cavallo; fish|pez|poisson|Fisch|pesce; bird|pájaro|oiseau|Vogel|uccello; flower|flor|fleur|Blume|fiore;
  tree|árbol|arbre|Baum|albero; heart|corazón|cœur|Herz|cuore; hand|mano|main|Hand|mano; school|escuela|école|Schule|scuola;
  friend|amigo|ami|Freund|amico; brother|hermano|frère|Bruder|fratello; sister|hermana|sœur|Schwester|sorella; red|rojo|rouge|rot|rosso;
  green|verde|vert|grün|verde; white|blanco|blanc|weiß|bianco; cheese|queso|fromage|Käse|formaggio; apple|manzana|pomme|Apfel|mela;
  king|rey|roi|König|re; church|iglesia|église|Kirche|chiesa; city|ciudad|ville|Stadt|città; winter|invierno|hiver|Winter|inverno;
  summer|verano|été|Sommer|estate; three|tres|trois|drei|tre; seven|siete|sept|sieben|sette; eight|ocho|huit|acht|otto;
  butter|mantequilla|beurre|Butter|burro; egg|huevo|œuf|Ei|uovo`
  .split(";")
  .map((row) => row.trim().split("|"));

const ONES =
  list(`zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
  seventeen, eighteen, nineteen`);
const TENS = list("twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety");

/** Writes a number up to 99 in words. */
export function spellNumber(value: number): string {
  if (value < 20) return ONES[value] as string;
  const tens = TENS[Math.floor(value / 10) - 2] as string;
  return value % 10 === 0 ? tens : `${tens}-${ONES[value % 10]}`;
}

const VALUES = new Map(Array.from({ length: 100 }, (_, i) => [spellNumber(i), i]));
const NUMBER = new RegExp(
  `\\d+(?:,\\d{3})*|\\b(?:(?:${TENS.join("|")})(?:[- ](?:${ONES.slice(1, 10).join("|")}))?|${ONES.toReversed().join("|")})\\b`,
  "g",
);

/** Finds every number in a text, written in digits or in words. */
export function findNumbers(text: string): number[] {
  return [...text.toLowerCase().matchAll(NUMBER)].map(
    ([found]) => VALUES.get(found.replace(" ", "-")) ?? Number(found.replaceAll(",", "")),
  );
}
