"""Signs the requests of schemathesis as docs/read/serve.md shows it. A header that one is to lack stays absent."""

import hashlib
import hmac
import os
import time

import requests.auth
import schemathesis


class Signed(requests.auth.AuthBase):
    def __init__(self, names):
        self.names = names

    def __call__(self, request):
        now = str(int(time.time()))
        text = f"{request.method}\n{request.path_url}\n{now}\n"
        signature = hmac.new(os.environ["SHOP_SECRET"].encode(), text.encode(), hashlib.sha256).hexdigest()
        signed = {"x-api-key": os.environ["SHOP_API_KEY"], "x-timestamp": now, "x-signature": signature}
        request.headers.update({name: value for name, value in signed.items() if name in self.names})
        return request


@schemathesis.hook
def before_call(context, case, kwargs):
    kwargs["auth"] = Signed({name.lower() for name in case.headers or {}})
