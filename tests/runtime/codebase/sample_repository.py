"""The files of a small repository in several languages."""

from __future__ import annotations

import os
import time
from pathlib import Path

FILES: dict[str, str] = {
    "README.md": "# Shop\n\nSells things.\n\n## Payment\n\nPayment is refunded by the refund desk.\n",
    "src/shop/__init__.py": '"""A shop."""\n\nfrom shop.orders import Order\n',
    "src/shop/orders.py": '''"""Orders and their totals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shop.payment import PaymentGateway as Gateway

VAT_RATE = 0.2


@dataclass
class Order:
    """What a customer buys.

    Totals are in cents.
    """

    cents: int = 0

    def total(self, rate: float = VAT_RATE) -> int:
        """The price with tax."""
        return self.rounded(self.cents * (1 + rate))

    def rounded(self, value: float) -> int:
        return math.ceil(value)


def pay_order(order: Order, gateway: Gateway) -> str:
    """Charge the total of an order."""
    amount = order.total()
    return gateway.charge(amount)
''',
    "src/shop/payment.py": '''"""Payment providers."""


class PaymentGateway:
    """Talks to the bank."""

    retries = 3

    def charge(self, amount: int) -> str:
        """Take money; retried when the bank hangs up."""
        return self._send("charge", amount)

    def refund_payment(self, amount: int) -> str:
        """Give money back to the customer."""
        return self._send("refund", amount)

    def _send(self, verb: str, amount: int) -> str:
        return f"{verb}:{amount}"
''',
    "src/shop/cli.py": '''"""Command line."""

from . import orders
from .orders import Order
from .payment import PaymentGateway


def main() -> None:
    gateway = PaymentGateway()
    orders.pay_order(Order(100), gateway)
''',
    "tests/test_orders.py": """from shop.orders import Order


def test_total_adds_tax():
    assert Order(100).total() == 120
""",
    "web/cart.js": """import { format } from './format.js'

// A cart holds lines.
export class Cart {
  addLine(line) {
    return format(line)
  }
}
""",
    "web/format.js": "export function format(line) {\n  return String(line)\n}\n",
    "conf/settings.yaml": "currency: EUR\nretries:\n  bank: 3\n",
}


def write_files(root: Path, files: dict[str, str]) -> None:
    """Write files below a folder, and let their times lie a minute back so that a refresh trusts them."""
    past = time.time() - 60
    for path, text in files.items():
        full = root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8", newline="")
        os.utime(full, (past, past))
