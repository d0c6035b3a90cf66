import t from 'tap';
import {
  mentions,
  naming,
  playerOf,
  playersNamed,
  redact,
  renamePlayers,
  replacePlayers,
} from '../../src/protocol/playerRedaction.ts';

const anna = (value: string) => (value === 'anna' ? 'erased-x' : undefined);
const seven = (value: string) => (value === '7' ? 'erased-x' : undefined);

t.test('a string is replaced wherever it is a value, and the rest stays byte for byte', async (t) => {
  const text =
    '{ "a":1.50, "b":["anna" ,{"c":"anna"}], "d":"anna2", "e":"\\u0061nna", "f":9007199254740993 }';
  t.equal(
    replacePlayers(text, anna),
    '{ "a":1.50, "b":["erased-x" ,{"c":"erased-x"}], "d":"anna2", "e":"erased-x", "f":9007199254740993 }',
  );
});

t.test(
  'a player id that is also a member name is replaced, but not in a member of the protocol',
  async (t) => {
    t.equal(replacePlayers('{"points":{"anna" : 3}}', anna), '{"points":{"erased-x" : 3}}');
    const kmh = (value: string) => (value === 'kmh' ? 'erased-x' : undefined);
    t.equal(replacePlayers('{"kmh":3,"player_id":"kmh"}', kmh), '{"kmh":3,"player_id":"erased-x"}');
  },
);

t.test('a short id stays in fields that mean something else, and is replaced everywhere else', async (t) => {
  const smash = (value: string) => (value === 'smash' || value === 'p-smash' ? 'erased-x' : undefined);
  t.equal(
    replacePlayers('{"player_id":"smash","shot_type":"smash","swing_type" : "smash","kind":"smash"}', smash),
    '{"player_id":"erased-x","shot_type":"smash","swing_type" : "smash","kind":"erased-x"}',
  );
  t.equal(replacePlayers('{"shot_type":["smash"]}', smash), '{"shot_type":["erased-x"]}');
  t.equal(
    replacePlayers('{"shot_type":"p-smash"}', smash),
    '{"shot_type":"erased-x"}',
    'it can be nothing else',
  );
});

t.test('an id that is part of a longer one does not name its player', async (t) => {
  const names = naming('player-7');
  const named = [
    '{"player_id":"player-7"}',
    'beside player-7, say',
    '{"note":"line\\nplayer-7"}',
    'player-7',
    '\\u0020player-7.',
  ];
  for (const text of named) t.ok(names(text), text);
  for (const text of ['{"player_id":"player-70"}', 'aplayer-7', 'player-7é']) t.notOk(names(text), text);
});

t.test('an empty player_id names nobody', async (t) => {
  t.equal(playerOf('{"player_id":""}'), undefined);
  t.same([...playersNamed('{"player_id":""}')], []);
});

t.test('a long string exhausts neither the stack nor, without an end, the time', async (t) => {
  const escapes = '\\n'.repeat(1_000_000);
  const long = `{"note":"${escapes}","player_id":"anna"}`;
  t.ok(replacePlayers(long, anna) === `{"note":"${escapes}","player_id":"erased-x"}`);
  t.same([...playersNamed(long)], ['anna']);
  // With a step back at each quote, hours.
  for (const hostile of [`"${'\\"'.repeat(1_000_000)}\\`, '"'.repeat(2_000_000), '\\'.repeat(2_000_000)]) {
    t.equal(
      mentions(hostile, (value) => value === 'anna'),
      false,
    );
  }
});

t.test('a text that is truncated within an escape names the players before it', async (t) => {
  const isAnna = (value: string) => value === 'anna';
  t.ok(mentions('{"player_id":"anna","note":"a\\', isAnna));
  t.ok(mentions('{"note":"a \\"quote\\"","player_id":"anna', isAnna));
  t.notOk(mentions('{"note":"anna\\', isAnna));
  t.ok(
    mentions('{"player_id":"anna\\\\"}', (value) => value === 'anna\\'),
    'a name that ends with a backslash',
  );
});

t.test('payload.player_id names a player, a number by its digits', async (t) => {
  t.equal(playerOf('{"player_id":"anna"}'), 'anna');
  t.equal(playerOf('{"pl\\u0061yer_id":"anna"}'), 'anna');
  t.equal(playerOf('{"player_id":7}'), '7');
  t.equal(playerOf('{"player_id":12345678901234567890}'), '12345678901234567890');
  t.equal(playerOf('{"player_id":7.0}'), '7.0');
  t.equal(playerOf('{"player_id":null}'), undefined);
  t.equal(playerOf('{"players":[{"player_id":"anna"}]}'), undefined);
});

t.test('a number is a player only as player_id', async (t) => {
  const event = { payload: '{"player_id": 7,"x_ft":7}', extra: '{"n":7}' };
  const long = { payload: '{"player_id":12345678901234567890}', extra: null };
  const asSent = (value: string) => (value === '12345678901234567890' ? 'erased-x' : undefined);
  t.same(renamePlayers(long, asSent), { payload: '{"player_id":"erased-x"}', extra: null });
  t.same(renamePlayers(event, seven), { payload: '{"player_id": "erased-x","x_ft":7}', extra: '{"n":7}' });
  const nested = { payload: '{"player\\u005fid":7}', extra: '{"crew":[{"player_id":7 }]}' };
  const renamed = {
    payload: '{"player\\u005fid":"erased-x"}',
    extra: '{"crew":[{"player_id":"erased-x" }]}',
  };
  t.same(renamePlayers(nested, seven), renamed);
  const isSeven = (player: string) => player === '7';
  t.ok(mentions('[{"player\\u005fid" : 7', isSeven), 'in what is cut off');
  t.notOk(mentions('{"x_ft":7,"player_id":17}', isSeven));
});

t.test('every player_id is found, at any depth and in any spelling', async (t) => {
  const named =
    '{"pl\\u0061yer_id":"anna","pair":[{"player_id" : 7},{"player_id":"b\\"ea"}],"x":"player_id","y":"cleo","player_id":{"z":"dora"}}';
  t.same([...playersNamed(named)], ['anna', '7', 'b"ea']);
  t.same([...playersNamed(`{"player_id":"${'\\n'.repeat(100_000)}"}`)], ['\n'.repeat(100_000)]);
});

t.test(
  "a player's own positions and identities lose their payload; other events lose only the name",
  async (t) => {
    const own = { payload: '{"player_id":"anna","x_ft":1}', extra: '{"height":170}' };
    t.same(redact({ ...own, type: 'PLAYER_POSITION' }, anna), { payload: '{}', extra: null });
    t.same(redact({ ...own, type: 'PLAYER_IDENTITY' }, anna), { payload: '{}', extra: null });
    t.same(redact({ ...own, type: 'BALL_HIT' }, anna), {
      payload: '{"player_id":"erased-x","x_ft":1}',
      extra: '{"height":170}',
    });
    const other = {
      payload: '{"player_id":"bea","near":"anna"}',
      extra: null,
      type: 'PLAYER_POSITION',
    } as const;
    t.same(redact(other, anna), { payload: '{"player_id":"bea","near":"erased-x"}', extra: null });
    t.equal(redact({ ...other, payload: '{"player_id":"bea"}' }, anna), undefined);
  },
);
