"""What every client of a service needs: addresses, deadlines, retries."""
