"""Users who send at a constant rate each: RATE requests/s by USERS users."""

import os

from locust import FastHttpUser, constant_throughput, task


class User(FastHttpUser):
    wait_time = constant_throughput(float(os.environ["RATE"]) / int(os.environ["USERS"]))
    connection_timeout = network_timeout = float(os.environ["TIMEOUT"])

    @task
    def get(self):
        self.client.get("/")
