import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { Workshop } from '../../harness/workshop.ts';
import type { Venue } from '../venue.ts';
import type { Walk } from '../walk.ts';

const SETTINGS = '/etc/courtd/courtd.env';
const SERVICE = 'courtd.service';
const FILES = { cert: '/etc/courtd/tls.crt', key: '/etc/courtd/tls.key' } as const;
/** The operator's guide, "TLS". */
const KIND = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '3650'];
const SUBJECT = ['-subj', '/CN=courtd', '-addext', 'subjectAltName=IP:127.0.0.1'];

/** The operator gives a certificate, replaces it, and takes it away again. */
export async function overTls(walk: Walk, venue: Venue, workshop: Workshop): Promise<void> {
  const { box } = venue;
  await walk.step('TLS', async () => {
    const first = await give(venue, workshop);
    const settings = `COURTD_TLS_CERT=${FILES.cert}\\nCOURTD_TLS_KEY=${FILES.key}\\n`;
    await box.must('sh', '-c', `printf '${settings}' >> ${SETTINGS}`);
    await box.must('systemctl', 'restart', SERVICE);
    venue.ca = first;
    const saw = await venue.withoutLoss('tls', venue.load.some, async () => {
      await give(venue, workshop);
      await box.must('systemctl', 'reload', SERVICE);
    });
    return `a new certificate under load: ${saw}; ${await venue.check('tls')}`;
  });

  await walk.step('restart under load over TLS', async () => {
    venue.ca = fs.readFileSync(box.root + FILES.cert, 'utf8');
    const saw = await venue.withoutLoss('tls', venue.load.some, () =>
      box.must('systemctl', 'restart', SERVICE),
    );
    venue.ca = undefined;
    await box.must('sed', '-i', '/^COURTD_TLS/d', SETTINGS);
    await box.must('systemctl', 'restart', SERVICE);
    return `${saw}; ${await venue.check('tls')}`;
  });
}

/** Makes a pair and puts it where the daemon may read it. @returns the certificate, in PEM. */
async function give({ box }: Venue, workshop: Workshop): Promise<string> {
  const [cert, key] = [workshop.file('tls.crt'), workshop.file('tls.key')];
  const args = ['req', '-x509', ...KIND, ...SUBJECT, '-keyout', key, '-out', cert];
  execFileSync('openssl', args, { stdio: 'pipe' });
  fs.copyFileSync(cert, box.root + FILES.cert);
  fs.copyFileSync(key, box.root + FILES.key);
  await box.must('chown', 'root:courtd', FILES.key);
  await box.must('chmod', '0640', FILES.key);
  return fs.readFileSync(cert, 'utf8');
}
